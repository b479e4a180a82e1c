import HearthClientTransport

#if canImport(HearthEventLoopTransport)
    import HearthEventLoopTransport
#endif

/// The transport of a database or of accounts: the one in the options, or the system's default.
struct ChosenTransport {
    /// Why it cannot be used.
    enum Failure: Error {
        /// For people.
        case transport(String)
        /// The file of authorities cannot be used. For people.
        case authorities(String)
    }

    private let transport: any ClientTransport
    /// The trusted authorities; nil for the system's.
    let authorities: (any ClientAuthorities)?

    init(_ transport: (any ClientTransport)?, authorityFile: String?) throws(Failure) {
        if let transport { self.transport = transport } else { self.transport = try Self.systemDefault() }
        do throws(ClientTransportError) {
            authorities = if let authorityFile { try self.transport.authorities(in: authorityFile) } else { nil }
        } catch {
            throw .authorities(error.description)
        }
    }

    func startLoop(name: String) throws(Failure) -> any ClientLoop {
        do throws(ClientTransportError) { return try transport.startLoop(name: name) } catch {
            throw .transport(error.description)
        }
    }

    private static func systemDefault() throws(Failure) -> any ClientTransport {
        #if canImport(HearthEventLoopTransport)
            return EventLoopTransport()
        #else
            throw .transport("there is no transport for this system: the options must have one")
        #endif
    }
}
