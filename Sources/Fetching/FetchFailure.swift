import CHearthCurl
package import HearthEventLoop

/// Why a transfer failed. Texts may name the host, never the whole address, which may hold secrets.
package enum FetchFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// None of the host's addresses, which are these, may be connected to.
    case forbidden([SocketAddress])
    case nameNotFound(String)
    case notConnected(String)
    case timedOut
    /// The host did not prove who it is.
    case certificate(String)
    case tooLarge(Part)
    /// The server is going away.
    case stopped
    case other(String)

    /// The part of an answer that was too large.
    package enum Part: String, Sendable {
        case head, body
    }

    init(_ code: CURLcode, _ text: String) {
        self =
            switch code {
            case CURLE_COULDNT_RESOLVE_HOST: .nameNotFound(text)
            case CURLE_COULDNT_CONNECT: .notConnected(text)
            case CURLE_OPERATION_TIMEDOUT: .timedOut
            case CURLE_PEER_FAILED_VERIFICATION: .certificate(text)
            case CURLE_RECV_ERROR, CURLE_GOT_NOTHING: .other("the peer has hung up")
            default: .other(text)
            }
    }

    package var description: String {
        switch self {
        case .forbidden(let addresses): "no address that may be used: \(addresses.map(\.host).joined(separator: ", "))"
        case .nameNotFound(let text), .notConnected(let text), .other(let text): text
        case .timedOut: "no answer in time"
        case .certificate(let text): "verify the certificate: \(text)"
        case .tooLarge(let part): "the \(part.rawValue) of the answer is too large"
        case .stopped: "the server is stopping"
        }
    }
}
