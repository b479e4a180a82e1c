import Glibc

// A standard stream that the caller has closed reads and writes nothing. Another file would get its number otherwise.
while true {
    let descriptor = open("/dev/null", O_RDWR)
    guard (0...2).contains(descriptor) else {
        close(descriptor)
        break
    }
}
// Files that commands write are only for their user: databases, keys, backups.
umask(0o077)
let arguments = Array(CommandLine.arguments.dropFirst())
exit(Command.run(arguments).rawValue)
