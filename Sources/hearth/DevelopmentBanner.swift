import EventLoop
import HearthServer
import TreeStorage

/// What `hearth serve --dev` shows when it is ready: where everything is, and lines to paste.
struct DevelopmentBanner {
    let text: String

    init(_ configuration: ServerConfiguration, _ address: SocketAddress) {
        let isSecure = configuration.tls != nil
        let rest = "\(isSecure ? "https" : "http")://\(address)"
        let socket = "\(isSecure ? "wss" : "ws")://\(address)"
        let survives =
            switch configuration.durability {
            case .full: "acknowledged writes survive a power loss"
            case .process: "acknowledged writes survive a crash of the server"
            case .memory: "nothing is kept"
            }
        let rules =
            configuration.rulesFile.map { "\($0), read but not enforced: development mode" } ?? "development mode"
        text = """

            Hearth, in development mode: everyone on this machine may read and write everything.

              WebSocket   \(socket)
              REST        \(rest)
              data        \(configuration.dataFolder)
              rules       everything open (\(rules))
              durability  \(configuration.durability.rawValue): \(survives)

            Watch a value:   hearth watch /welcome
            Change it:       curl -X PUT -d '"Hello"' \(rest)/welcome.json
            From an app:     initializeApp({ databaseURL: "\(rest)?ns=\(configuration.defaultDatabase)" })


            """
    }
}
