import HearthEtcdMessages
import HearthReplicatedLog
import Testing

@testable import HearthClusterNode

@Suite("The placement of databases, at a node") struct PlacementWorkerTests {
    @Test("counts only nodes that others reach, and that it can read") func nodes() {
        func value(_ name: String, _ bytes: [UInt8], _ revision: Int64) -> EtcdKeyValue {
            EtcdKeyValue(key: NodeRecord.key(of: name), value: bytes, createRevision: revision, modRevision: revision)
        }
        let reached = NodeRecord(incarnation: 1, address: "127.0.0.1:80", peerAddress: "127.0.0.1:81").bytes
        let unreached = NodeRecord(incarnation: 1, address: "127.0.0.1:80").bytes
        let nodes = PlacementWorker.nodes(in: [
            value("n1", reached, 3), value("n2", unreached, 4), value("n3", [99], 5), value("", reached, 6),
            value(String(repeating: "n", count: 300), reached, 7), value("n 4", reached, 8), value("n5", reached, 9),
        ])
        #expect(nodes == ["n1": 3, "n5": 9])
    }
}
