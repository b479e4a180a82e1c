import ExampleKit

await notebookProgram.run()
