import HearthExampleKit

await feederProgram.run()
