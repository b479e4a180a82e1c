import Glibc
import HearthEtcdGateway
import HearthEtcdMessages

/// Appends to etcd as a node makes them for one small write, one after the other and without a node: what a write in
/// flight costs at least.
struct EtcdAppends {
    /// Of the value with the record of one small set, and of the head of the log.
    private static let batchBytes = 190
    private static let headBytes = 48
    private static let key = Array("/bench/".utf8)
    private static let callDuration = Duration.seconds(10)

    private let clients: [EtcdClient]
    private let owner: [UInt8]
    private let term: Int64
    private var head: [UInt8]
    private var count: UInt64 = 0

    /// A node talks to a member that it chooses at random; these appends go to all of them for the same time.
    init(_ members: [EtcdMember]) throws(BenchError) {
        clients = members.indices.map { EtcdClient(EtcdCluster(members), preferredMember: $0) }
        owner = Array(repeating: 0x6F, count: 24)
        head = Self.value(Self.headBytes, number: 0)
        let put = EtcdTransaction(
            then: [
                .put(key: Self.key + "owner".utf8, value: owner), .put(key: Self.key + "head".utf8, value: head),
            ], isRepeatable: true)
        term = try Self.call(put, clients[0]).revision
    }

    private static func call(
        _ transaction: EtcdTransaction, _ client: EtcdClient
    ) throws(BenchError) -> EtcdTransactionReply {
        do throws(EtcdError) { return try client.call(transaction, within: callDuration) } catch {
            throw BenchError("append to etcd: \(error)")
        }
    }

    mutating func run(seconds: Double, warmUp: Double) throws(BenchError) -> Measurement {
        var (latency, total) = (LatencyHistogram(), 0.0)
        let cpu = ProcessUsage(process: getpid())
        let cpuBefore = cpu.cpuSeconds
        for client in clients {
            let warm = Clock.now + Int64(warmUp / Double(clients.count) * 1e9)
            while Clock.now < warm { try append(with: client) }
            let start = Clock.now
            var now = start
            repeat {
                try append(with: client)
                let end = Clock.now
                latency.add(nanoseconds: end - now)
                now = end
            } while Double(now - start) < seconds / Double(clients.count) * 1e9
            total += Double(now - start) / 1e9
        }
        return Measurement(
            operations: Int(latency.count), seconds: total, latency: latency, targetCPUSeconds: nil,
            loadCPUSeconds: cpu.cpuSeconds - cpuBefore, foreignShare: nil)
    }

    private mutating func append(with client: EtcdClient) throws(BenchError) {
        count += 1
        let next = Self.value(Self.headBytes, number: count)
        let owner = Self.key + Array("owner".utf8)
        let transaction = EtcdTransaction(
            if: [
                .init(owner, .equal, .modRevision(term)), .init(owner, .equal, .value(self.owner)),
                .init(Self.key + Array("head".utf8), .equal, .value(head)),
            ],
            then: [
                .put(
                    key: Self.key + Array("log/\(RequestNumber.base + Int(count))".utf8),
                    value: Self.value(Self.batchBytes, number: count)),
                .put(key: Self.key + Array("head".utf8), value: next),
            ], else: [.range(EtcdRange(.key(Self.key + Array("head".utf8))))], isRepeatable: true)
        let reply = try Self.call(transaction, client)
        // A member that does not answer may have made it before another one was asked.
        guard reply.hasSucceeded || reply.values(0).first?.value == next else {
            throw BenchError("etcd has refused an append that nobody else could have made")
        }
        head = next
    }

    private static func value(_ size: Int, number: UInt64) -> [UInt8] {
        var bytes = [UInt8](repeating: 0x78, count: size)
        for place in 0..<8 { bytes[place] = UInt8(truncatingIfNeeded: number >> UInt64(8 * place)) }
        return bytes
    }
}
