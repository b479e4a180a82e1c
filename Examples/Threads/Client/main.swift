import HearthExampleKit

await threadsProgram.run()
