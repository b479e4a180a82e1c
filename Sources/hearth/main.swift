import Glibc

let arguments = Array(CommandLine.arguments.dropFirst())
exit(Command.run(arguments).rawValue)
