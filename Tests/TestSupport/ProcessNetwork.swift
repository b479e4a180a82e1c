import CHearthFaults
import Glibc
import HearthEventLoop
import HearthSystem
import Synchronization

/// The TCP connections between processes of a test. All pass through this process, which can cut any two of the others
/// off from each other.
///
/// A process has one address, the same for all callers. A caller is recognised by its open sockets, and turned away if
/// it has no name.
package final class ProcessNetwork: Sendable {
    package enum Cut: Hashable, Sendable {
        /// As if packets were lost: connections stay open and silent, and what was sent arrives after the end of the
        /// cut.
        case silent
        /// As if packets were rejected: connections break, and new ones do not come about.
        case refused
    }

    private let group: EventLoopGroup
    private let switchboard = Switchboard()
    private let listeners = Mutex<[Listener]>([])

    package init() throws { group = try EventLoopGroup(count: 1, name: "network") }

    deinit {
        group.stop()
        group.join()
    }

    /// A port that leads to one of a process.
    package func port(to name: String, listeningAt port: UInt16) throws -> UInt16 {
        var options = Listener.Options()
        options.limits = Switchboard.limits
        let own = try FreePort.several(1)[0]
        let listener = try Listener(at: .loopback(port: own), on: group, options: options) { [switchboard] stream in
            switchboard.accept(stream, on: own, to: name, at: .loopback(port: port))
        }
        listeners.withLock { $0.append(listener) }
        return own
    }

    /// A process runs under a name, and nothing else does any more.
    package func joined(_ name: String, process: Int32) { run { $0.processes[name] = process } }

    /// Returns once nothing passes any more.
    package func cut(_ name: String, from other: String, _ cut: Cut) { run { $0.set(cut, [name, other]) } }

    /// Ends a cut.
    package func join(_ name: String, to other: String) { run { $0.set(nil, [name, other]) } }

    private func run(_ body: @escaping @Sendable (Switchboard) -> Void) {
        let isDone = Semaphore()
        group.loops[0].execute { [switchboard] in
            body(switchboard)
            isDone.signal()
        }
        isDone.wait()
    }
}

/// What passes and what does not.
private final class Switchboard: @unchecked Sendable {
    // Safe because: all is touched on the loop's thread only, but for constants.

    var processes: [String: Int32] = [:]
    /// By the two names.
    private var cuts: [Set<String>: ProcessNetwork.Cut] = [:]
    private var pipes: [ObjectIdentifier: NetworkPipe] = [:]

    static var limits: StreamLimits {
        var limits = StreamLimits()
        limits.hardLimit = .max
        return limits
    }

    func accept(
        _ stream: Stream, on port: UInt16, to name: String, at address: SocketAddress
    ) -> any StreamHandler {
        guard let caller = caller(of: stream, at: port), cuts[[caller, name]] != .refused else {
            stream.abort()
            return NetworkPipe.Side()
        }
        let pipe = NetworkPipe([caller, name], stream, to: address, Self.limits) { [unowned self] in pipes[$0] = nil }
        pipes[ObjectIdentifier(pipe)] = pipe
        if cuts[pipe.names] == .silent { pipe.isSilent = true }
        return pipe.caller
    }

    func set(_ cut: ProcessNetwork.Cut?, _ names: Set<String>) {
        cuts[names] = cut
        for pipe in pipes.values where pipe.names == names {
            pipe.isSilent = cut == .silent
            if cut == .refused { pipe.abort() }
        }
    }

    /// The process at the other end of a connection.
    private func caller(of stream: Stream, at port: UInt16) -> String? {
        guard let callingPort = stream.peer?.port else { return nil }
        let socket = faults_calling_socket(callingPort, port)
        precondition(socket >= 0, "cannot tell who connects: error \(-socket)")
        if socket == 0 { return nil }
        return processes.first { has($0.value, "socket:[\(socket)]") }?.key
    }

    private func has(_ process: Int32, _ descriptor: String) -> Bool {
        let folder = "/proc/\(process)/fd"
        return TemporaryFolder.files(in: folder).contains { name in
            var target = [UInt8](repeating: 0, count: 64)
            let count = target.withUnsafeMutableBytes { bytes in
                readlink("\(folder)/\(name)", bytes.assumingMemoryBound(to: CChar.self).baseAddress!, bytes.count)
            }
            return count > 0 && descriptor == String(decoding: target[..<count], as: UTF8.self)
        }
    }
}

/// The connection of a caller and the one that belongs to it. Lives on its loop.
private final class NetworkPipe {
    let names: Set<String>
    let caller = Side()
    private let called = Side()
    private let ended: (ObjectIdentifier) -> Void

    init(
        _ names: Set<String>, _ stream: Stream, to address: SocketAddress, _ limits: StreamLimits,
        ended: @escaping (ObjectIdentifier) -> Void
    ) {
        self.names = names
        self.ended = ended
        caller.begin(stream, other: called, of: self)
        let connection = stream.loop.connect(host: address.host, port: address.port, limits: limits, handler: called)
        called.begin(connection, other: caller, of: self)
    }

    var isSilent = false {
        didSet {
            if isSilent == oldValue { return }
            for side in [caller, called] {
                if isSilent { side.stream?.pauseReading() } else { side.stream?.resumeReading() }
            }
            if !isSilent { passEnd() }
        }
    }

    func abort() {
        caller.stream?.abort()
        called.stream?.abort()
    }

    /// The end of one side is the end of the other one, as soon as that may hear of it.
    private func passEnd() {
        if caller.stream == nil { called.stream?.close() }
        if called.stream == nil { caller.stream?.close() }
    }

    private func closed() {
        if !isSilent { passEnd() }
        if caller.stream == nil, called.stream == nil { ended(ObjectIdentifier(self)) }
    }

    final class Side: StreamHandler {
        private(set) var stream: Stream?
        private weak var other: Side?
        private var pipe: NetworkPipe?

        func begin(_ stream: Stream, other: Side, of pipe: NetworkPipe) {
            self.stream = stream
            self.other = other
            self.pipe = pipe
        }

        func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
            other?.stream?.send(copying: UnsafeRawBufferPointer(bytes))
        }

        func closed(_ stream: Stream, reason: CloseReason) {
            self.stream = nil
            pipe?.closed()
            pipe = nil
        }
    }
}
