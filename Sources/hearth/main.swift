import Glibc

// Files that commands write are only for their user: databases, keys, backups.
umask(0o077)
let arguments = Array(CommandLine.arguments.dropFirst())
exit(Command.run(arguments).rawValue)
