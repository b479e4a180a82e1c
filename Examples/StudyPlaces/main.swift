import ExampleKit

await studyPlacesProgram.run()
