import HearthExampleKit
import HearthExampleTerminal

await todoProgram.run()
