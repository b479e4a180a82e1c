import HearthEventLoop
import HearthSystem

/// Sends copies of databases to other nodes: at most a few at a time, and not so fast that clients notice. On the
/// thread of the links' loop.
final class CopySender: @unchecked Sendable {
    // Safe because: all is touched on the loop's thread only, but for constants and the worker.

    private final class Sending {
        let connection: PeerConnection
        /// Nil while it is being made.
        var copy: OutgoingCopy?
        var credit = 0
        /// The last piece is on its way.
        var hasEnded = false

        init(_ connection: PeerConnection) { self.connection = connection }
    }

    private struct Job: Sendable {
        var request: CopyRequest
        var number: UInt64
    }

    private static let copiesMax = 2
    /// With a tick each 50 ms these are 50 MB a second and copy.
    private static let bytesPerTick = 2_500_000
    private static let pieceBytes = 256 << 10
    /// The other node hears so often that a copy is still being made.
    private static let heartbeat = Duration.milliseconds(500)
    /// A node that takes nothing for so long does not want the copy any more.
    private static let silenceMax = Duration.seconds(10)

    private var sendings: [UInt64: Sending] = [:]
    private var lastNumber: UInt64 = 0
    /// Makes one copy after the other.
    private let worker: Worker<Job>
    private let address: Address

    private final class Address: @unchecked Sendable {
        // Safe because: touched on the loop's thread only.
        weak var sender: CopySender?
    }

    /// - parameter makeCopy: called on a thread of its own.
    init(
        _ loop: EventLoop, makeCopy: @escaping @Sendable (CopyRequest) -> Result<OutgoingCopy, CopyFailure>
    ) throws(SystemError) {
        let address = Address()
        self.address = address
        worker = try Worker(name: "copies", priority: .background) {
            { jobs in
                for job in jobs {
                    let result = makeCopy(job.request)
                    loop.execute { address.sender?.made(job.number, result) }
                }
            }
        }
    }

    func begin(_ request: CopyRequest, on connection: PeerConnection) {
        guard sendings.count < Self.copiesMax else {
            return refuse(connection, "it sends as many copies as it may, to other nodes")
        }
        address.sender = self
        lastNumber += 1
        sendings[lastNumber] = Sending(connection)
        worker.post(Job(request: request, number: lastNumber))
    }

    private func refuse(_ connection: PeerConnection, _ reason: String) {
        connection.send(CopyPiece.refused(reason).bytes)
        connection.close()
    }

    private func made(_ number: UInt64, _ result: Result<OutgoingCopy, CopyFailure>) {
        guard let sending = sendings[number] else { return }
        switch result {
        case .success(let copy):
            sending.copy = copy
            sending.credit = Self.bytesPerTick
            pump(number, sending)
        case .failure(let failure):
            sendings[number] = nil
            refuse(sending.connection, failure.description)
        }
    }

    private func pump(_ number: UInt64, _ sending: Sending) {
        guard let copy = sending.copy, !sending.hasEnded else { return }
        do throws(CopyFailure) {
            while sending.credit > 0, sending.connection.isWritable {
                let bytes = try copy.read(maximum: Self.pieceBytes)
                if bytes.isEmpty {
                    // The other node closes the connection once it has everything.
                    sending.hasEnded = true
                    return sending.connection.send(CopyPiece.end.bytes)
                }
                sending.credit -= bytes.count
                sending.connection.send(CopyPiece.bytes(bytes).bytes)
            }
        } catch {
            sendings[number] = nil
            refuse(sending.connection, error.description)
        }
    }

    func tick(_ now: MonotonicTime) {
        for (number, sending) in sendings.sorted(by: { $0.key < $1.key }) {
            if sending.copy == nil, now - sending.connection.lastSent >= Self.heartbeat {
                sending.connection.send(CopyPiece.pending.bytes)
            }
            if sending.copy != nil, now - sending.connection.lastSent >= Self.silenceMax {
                sendings[number] = nil
                sending.connection.abort()
                continue
            }
            sending.credit = Self.bytesPerTick
            pump(number, sending)
        }
    }

    func drained(_ connection: PeerConnection) {
        for (number, sending) in sendings where sending.connection === connection { pump(number, sending) }
    }

    func ended(_ connection: PeerConnection) {
        for (number, sending) in sendings where sending.connection === connection { sendings[number] = nil }
    }

    /// Waits for the end of a copy that is being made. After the end of the loop.
    func stop() { worker.stop() }
}
