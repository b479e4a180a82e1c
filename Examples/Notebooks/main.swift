import HearthExampleKit
import HearthExampleTerminal

await notebookProgram.run()
