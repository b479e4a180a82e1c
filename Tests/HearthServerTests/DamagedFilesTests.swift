import Glibc
import HearthTestSupport
import Testing

extension ClusterTests {
    @Suite("with damaged files at a node") struct DamagedFilesTests {
        @Test("the node takes no writes over")
        func takeOver() throws {
            let cluster = try TestCluster()
            let owner = try cluster.recordedOwner()
            let names = try cluster.followers()
            try cluster.wait("the first write") {
                try cluster[owner].connectREST().ask("PUT", "/n.json", [], "\"DAMAGED\"").status == 200
            }
            for name in names { try cluster.wait("the value") { try cluster.get("/n", at: name) == "\"DAMAGED\"" } }
            try cluster.stop(names[0])
            // Without the tree, the node reads all of its log.
            for file in ["tree", "tree-wal"] { unlink("\(cluster.dataFolder(of: names[0]))/default.\(file)") }
            let log = "\(cluster.dataFolder(of: names[0]))/default.log"
            var bytes = TemporaryFolder.contents(of: log)
            let place = try #require(bytes.firstRange(of: Array("DAMAGED".utf8)))
            bytes[place.lowerBound] = UInt8(ascii: "E")
            TemporaryFolder.write(bytes, to: log)
            try cluster.start(names[0])
            try cluster.wait("the damage to be noticed") {
                try cluster[names[0]].connectAdminREST().ask("GET", "/readyz").text.contains("damaged")
            }

            try cluster.stop(names[1])
            try cluster.stop(owner)
            // The damaged node has had time to take the writes over before.
            try cluster.start(names[1])
            #expect(try cluster.recordedOwner() == names[1])
            try cluster.wait("a write") {
                try cluster[names[1]].connectREST().ask("PUT", "/n.json", [], "2").status == 200
            }
        }
    }
}
