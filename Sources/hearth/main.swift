import Glibc

// What commands write is for whoever runs them: databases, keys, backups.
umask(0o077)
let arguments = Array(CommandLine.arguments.dropFirst())
exit(Command.run(arguments).rawValue)
