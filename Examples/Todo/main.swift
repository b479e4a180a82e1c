import HearthExampleKit

await todoProgram.run()
