import HearthExampleKit

await serviceProgram.run()
