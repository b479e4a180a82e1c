import HearthExampleKit

await notebookProgram.run()
