import ExampleKit

await todoProgram.run()
