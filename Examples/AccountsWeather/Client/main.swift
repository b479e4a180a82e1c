import HearthExampleKit
import HearthExampleTerminal

await accountsProgram.run()
