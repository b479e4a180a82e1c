import ExampleKit

await threadsProgram.run()
