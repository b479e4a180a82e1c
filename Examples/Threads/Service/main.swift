import HearthExampleKit
import HearthExampleTerminal

await serviceProgram.run()
