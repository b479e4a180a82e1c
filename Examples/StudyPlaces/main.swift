import HearthExampleKit
import HearthExampleTerminal

await studyPlacesProgram.run()
