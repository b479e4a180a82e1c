import HearthExampleKit

await studyPlacesProgram.run()
