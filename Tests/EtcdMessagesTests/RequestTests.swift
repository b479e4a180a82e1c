import HearthEtcdMessages
import HearthTestSupport
import Testing

/// The bytes follow from the numbers in rpc.proto of etcd 3.4, which passes over fields that it does not know, so a
/// wrong number would go unnoticed. A line is one field, or the beginning of one that is a message: its number and
/// type, its length, its value.
@Suite("Requests to etcd") struct RequestTests {
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// The bytes of pairs of hexadecimal digits, up to the `#` of each line.
    private func lines(_ text: String) -> [UInt8] {
        hex(text.split(separator: "\n").map { $0.prefix { $0 != "#" }.filter(\.isHexDigit) }.joined())
    }

    @Test("name their services and methods") func paths() {
        #expect("\(EtcdRange.path)" == "/etcdserverpb.KV/Range")
        #expect("\(EtcdPut.path)" == "/etcdserverpb.KV/Put")
        #expect("\(EtcdTransaction.path)" == "/etcdserverpb.KV/Txn")
        #expect("\(EtcdCompact.path)" == "/etcdserverpb.KV/Compact")
        #expect("\(EtcdWatch.path)" == "/etcdserverpb.Watch/Watch")
        #expect("\(EtcdGrantLease.path)" == "/etcdserverpb.Lease/LeaseGrant")
        #expect("\(EtcdKeepLeaseAlive.path)" == "/etcdserverpb.Lease/LeaseKeepAlive")
        #expect("\(EtcdRevokeLease.path)" == "/etcdserverpb.Lease/LeaseRevoke")
        #expect("\(EtcdStatus.path)" == "/etcdserverpb.Maintenance/Status")
        #expect("\(EtcdMemberList.path)" == "/etcdserverpb.Cluster/MemberList")
    }

    @Test("put") func put() {
        let one = """
            0A 03 612F31  # key = 1
            12 03 6F6E65  # value = 2
            """
        #expect(EtcdPut(key: bytes("a/1"), value: bytes("one")).message == lines(one))
        let leased = """
            0A 02 00FF  # key = 1
            12 00       # value = 2
            18 4D       # lease = 3
            """
        #expect(EtcdPut(key: [0, 0xFF], value: [], lease: 77).message == lines(leased))
    }

    @Test("range") func range() {
        #expect(EtcdRange(.key(bytes("a/1"))).message == lines("0A 03 612F31  # key = 1"))
        let keys = """
            0A 02 612F  # key = 1
            12 02 6130  # range_end = 2
            18 02       # limit = 3
            28 02       # sort_order = 5: DESCEND
            30 00       # sort_target = 6: KEY
            38 01       # serializable = 7
            40 01       # keys_only = 8
            """
        let range = EtcdRange(
            .prefix(bytes("a/")), limit: 2, isDescending: true, keysOnly: true, isSerializable: true)
        #expect(range.message == lines(keys))
    }

    @Test("a transaction that claims a key") func claim() {
        let claim = EtcdTransaction(
            if: [.init(bytes("h/owner"), .equal, .createRevision(0))],
            then: [.put(key: bytes("h/owner"), value: bytes("n1"), lease: 7_627_868_533_486_616_853)],
            else: [.range(EtcdRange(.key(bytes("h/owner"))))], isRepeatable: true)
        let expected = """
            0A 0F                         # compare = 1
                08 00                     #     result = 1: EQUAL
                1A 07 682F6F776E6572      #     key = 3
                10 01                     #     target = 2: CREATE
                28 00                     #     create_revision = 5
            12 19                         # success = 2
                12 17                     #     request_put = 2
                    0A 07 682F6F776E6572  #         key = 1
                    12 02 6E31            #         value = 2
                    18 9582E6DEC5C0E8ED69 #         lease = 3
            1A 0B                         # failure = 3
                0A 09                     #     request_range = 1
                    0A 07 682F6F776E6572  #         key = 1
            """
        #expect(claim.message == lines(expected))
    }

    @Test("a transaction that compares values, revisions and leases, and deletes keys") func trim() {
        let trim = EtcdTransaction(
            if: [
                .init(bytes("a"), .notEqual, .value(bytes("v"))), .init(bytes("a"), .greater, .modRevision(3)),
                .init(bytes("a"), .less, .lease(-1)),
            ],
            then: [.delete(.prefix(bytes("l/")))], isRepeatable: true)
        let expected = """
            0A 0A                           # compare = 1
                08 03                       #     result = 1: NOT_EQUAL
                1A 01 61                    #     key = 3
                10 03                       #     target = 2: VALUE
                3A 01 76                    #     value = 7
            0A 09                           # compare = 1
                08 01                       #     result = 1: GREATER
                1A 01 61                    #     key = 3
                10 02                       #     target = 2: MOD
                30 03                       #     mod_revision = 6
            0A 12                           # compare = 1
                08 02                       #     result = 1: LESS
                1A 01 61                    #     key = 3
                10 04                       #     target = 2: LEASE
                40 FFFFFFFFFFFFFFFFFF01     #     lease = 8
            12 0A                           # success = 2
                1A 08                       #     request_delete_range = 3
                    0A 02 6C2F              #         key = 1
                    12 02 6C30              #         range_end = 2
            """
        #expect(trim.message == lines(expected))
    }

    @Test("a transaction that compares all keys of a range") func ranges() {
        let transaction = EtcdTransaction(
            if: [.isEmpty(.prefix(bytes("l/"))), .isUnwritten(.prefix(bytes("l/")), since: 9)],
            then: [.delete(.key(bytes("a")))], isRepeatable: true)
        let expected = """
            0A 0F               # compare = 1
                08 00           #     result = 1: EQUAL
                1A 02 6C2F      #     key = 3
                8204 02 6C30    #     range_end = 64
                10 01           #     target = 2: CREATE
                28 00           #     create_revision = 5
            0A 0F               # compare = 1
                08 02           #     result = 1: LESS
                1A 02 6C2F      #     key = 3
                8204 02 6C30    #     range_end = 64
                10 02           #     target = 2: MOD
                30 0A           #     mod_revision = 6
            12 05               # success = 2
                1A 03           #     request_delete_range = 3
                    0A 01 61    #         key = 1
            """
        #expect(transaction.message == lines(expected))
    }

    @Test("leases, compaction, status and members") func others() {
        let granted = """
            08 03  # TTL = 1
            10 4D  # ID = 2
            """
        #expect(EtcdGrantLease(77, seconds: 3).message == lines(granted))
        #expect(EtcdKeepLeaseAlive(77).message == lines("08 4D  # ID = 1"))
        #expect(EtcdRevokeLease(77).message == lines("08 4D  # ID = 1"))
        #expect(EtcdCompact(16).message == lines("08 10  # revision = 1"))
        #expect(EtcdStatus().message == [])
        #expect(EtcdMemberList().message == [])
    }

    @Test("a watch asks for progress and fragments") func watch() {
        let expected = """
            0A 0E              # create_request = 1
                0A 02 772F     #     key = 1
                12 02 7730     #     range_end = 2
                18 0E          #     start_revision = 3
                20 01          #     progress_notify = 4
                40 01          #     fragment = 8
            """
        #expect(EtcdWatch(.prefix(bytes("w/")), from: 14).message == lines(expected))
    }

    @Test(
        "the end of a prefix is the first key after all that begin with it",
        arguments: [([0x61], [0x62]), ([0x61, 0xFF], [0x62]), ([0x61, 0xFE, 0xFF], [0x61, 0xFF]), ([0xFF], [0])])
    func prefixes(prefix: [UInt8], end: [UInt8]) {
        #expect(EtcdKeyRange.prefix(prefix) == .keys(from: prefix, upTo: end))
        for key in [prefix, prefix + [0], prefix + [0xFF, 0xFF]] { #expect(EtcdKeyRange.prefix(prefix).contains(key)) }
        if end != [0] { #expect(!EtcdKeyRange.prefix(prefix).contains(end)) }
        #expect(!EtcdKeyRange.prefix(prefix).contains([0x60]))
        #expect(!EtcdKeyRange.key(prefix).contains(prefix + [0]))
    }
}
