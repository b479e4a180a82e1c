import HearthExampleKit

await accountsProgram.run()
