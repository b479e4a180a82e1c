import ExampleKit

await serviceProgram.run()
