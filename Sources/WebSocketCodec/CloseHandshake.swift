/// Who has said goodbye on one connection, and the next step (RFC 6455 sections 5.5.1 and 7.1). Holds no timer and no
/// socket: the owner sends the frame that a step names, then keeps or ends the transport as the step says.
package struct CloseHandshake: Sendable {
    /// The close frame to send; an empty one if it has no code.
    package struct Frame: Equatable, Sendable {
        package var code: CloseCode?
        package var reason: String

        package init(code: CloseCode?, reason: String = "") {
            self.code = code
            self.reason = reason
        }
    }

    package enum Transport: Equatable, Sendable {
        /// Go on reading.
        case keep
        /// Go on reading, but not for longer than the owner's patience: the peer is to answer, or, towards a client,
        /// to end the transport.
        case awaitPeer
        /// End it once everything queued is sent.
        case shut
    }

    package struct Step: Equatable, Sendable {
        package var send: Frame?
        package var transport: Transport

        package init(send: Frame? = nil, transport: Transport) {
            self.send = send
            self.transport = transport
        }
    }

    private enum State {
        case open
        /// Our close frame is out, the peer's is not in.
        case closing
        case closed
    }

    private let role: WebSocketRole
    private var state = State.open
    private var endCode: CloseCode?

    package init(role: WebSocketRole) { self.role = role }

    /// Whether messages, pings and pongs may still be sent: not after our close frame.
    package var maySend: Bool { state == .open }

    /// How the connection ended, as an application is told: the code of the peer's close frame, that of the violation,
    /// 1005 if the peer gave none, 1006 if there was no close frame (RFC 6455 section 7.1.5).
    package var code: CloseCode { endCode ?? .abnormal }

    /// This side wants to end.
    package mutating func close(_ code: CloseCode?, reason: String = "") -> Step {
        switch state {
        case .open:
            state = .closing
            return Step(send: Frame(code: code, reason: reason), transport: .awaitPeer)
        case .closing:
            return Step(transport: .awaitPeer)
        case .closed:
            return Step(transport: ended)
        }
    }

    /// A close frame came. It is answered by one with the same code, unless it was itself the answer.
    package mutating func received(_ code: CloseCode?) -> Step {
        guard state != .closed else { return Step(transport: ended) }
        let answer = state == .open ? Frame(code: code) : nil
        state = .closed
        endCode = code ?? .noStatus
        return Step(send: answer, transport: ended)
    }

    /// The peer broke the protocol (RFC 6455 section 7.1.7).
    package mutating func failed(_ violation: ProtocolViolation) -> Step {
        let frame = state == .open ? Frame(code: violation.closeCode, reason: violation.reason) : nil
        if state != .closed { endCode = violation.closeCode }
        state = .closed
        return Step(send: frame, transport: .shut)
    }

    /// Both sides have said goodbye: the server ends the transport, so that it is not the client's port that lingers
    /// (RFC 6455 section 7.1.1).
    private var ended: Transport { role == .server ? .shut : .awaitPeer }
}
