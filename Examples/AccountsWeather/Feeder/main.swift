import HearthExampleKit
import HearthExampleTerminal

await feederProgram.run()
