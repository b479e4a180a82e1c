import ExampleKit

await accountsProgram.run()
