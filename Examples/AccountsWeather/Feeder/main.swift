import ExampleKit

await feederProgram.run()
