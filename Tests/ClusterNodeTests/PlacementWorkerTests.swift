import HearthEtcdGateway
import HearthEtcdMessages
import HearthReplicatedLog
import HearthTestSupport
import HearthTreeStorage
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

    @Test("notes the members in the folder, as the thread that renews the lease must not wait for a slow disk")
    func members() throws {
        let files = TemporaryFolder()
        let folder = try DataFolder(path: files.path, durability: .process)
        let store = NodeStore(
            EtcdStore.one([EtcdMember(host: "127.0.0.1", port: 1)])[0], index: 0, tls: nil, incarnation: 1)
        var worker = PlacementWorker(
            "n1", incarnation: 1, store, nil, folder, PlacementTiming(), storeNames: ["home"], news: { _ in })
        for states in [["n1": .member], ["n1": .member, "n2": .draining]] as [[String: ClusterMembers.State]] {
            let members = ClusterMembers(states)
            worker.run(
                PlacementWorker.Node(
                    placement: Placement(remembering: members), lease: nil, isSettled: false, keepsMembers: false,
                    owned: [], open: []),
                isStopping: { false })
            #expect(folder.keptMembers == members.bytes)
        }
    }
}
