import HearthExampleKit
import HearthExampleTerminal

await threadsProgram.run()
