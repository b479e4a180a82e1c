import HearthEventLoop
import HearthServer
import HearthIdentity
import HearthTreeStorage

/// The text of `hearth serve --dev` when it is ready: where everything is, and lines to paste.
struct DevelopmentBanner {
    let text: String

    /// - parameter isOpen: whether the rules let somebody who is not signed in try the commands.
    init(_ configuration: ServerConfiguration, _ address: SocketAddress, isOpen: Bool) {
        let isSecure = configuration.tls != nil
        let rest = "\(isSecure ? "https" : "http")://\(address)"
        let socket = "\(isSecure ? "wss" : "ws")://\(address)"
        let survives =
            switch configuration.durability {
            case .full: "acknowledged writes survive a power loss"
            case .process: "acknowledged writes survive a crash of the server"
            case .memory: "nothing is kept"
            }
        let rules = configuration.rulesFile ?? "none: everybody may read and write everything"
        let project = configuration.learnsProjects ? "of any project" : "of the project \(configuration.project)"
        let accounts = configuration.identity.map { _ in "\(rest), \(project)" } ?? "none"
        let isUsual = ServerAddress.usual == socket
        // In development mode any bearer is an administrator.
        let (watcher, writer) = isOpen ? ("", "") : (" --auth owner", " -H 'Authorization: Bearer owner'")
        text = """

            Hearth, in development mode: on this machine only, and whoever says to be somebody is believed.

              WebSocket   \(socket)
              REST        \(rest)
              console     \(rest)/console/
              accounts    \(accounts)
              data        \(configuration.dataFolder)
              rules       \(rules)
              durability  \(configuration.durability.rawValue): \(survives)

            Watch a value:   \(Self.program) watch \(Self.place)\(watcher)\(isUsual ? "" : " --url \(socket)")
            Change it:       curl -X PUT\(writer) -d '"Hello"' \(rest)\(Self.place).json
            From an app:     initializeApp({ databaseURL: "\(rest)?ns=\(configuration.defaultDatabase)" })


            """
    }

    /// The place in the commands.
    static let place = "/welcome"

    /// How this program was called, as a shell takes it.
    private static var program: String {
        let name = CommandLine.arguments.first ?? "hearth"
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "/._-+".utf8.contains(byte)
            }
        }
        return isPlain ? name : "'\(name.replacing("'", with: "'\\''"))'"
    }
}
