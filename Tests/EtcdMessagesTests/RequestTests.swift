import HearthEtcdMessages
import Testing

/// The texts are requests that etcd 3.4.23 was seen to understand: it ignores members that it does not know, so a
/// wrong name would go unnoticed.
@Suite("Requests to etcd") struct RequestTests {
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("put") func put() {
        #expect(text(EtcdPut(key: bytes("a/1"), value: bytes("one")).body) == #"{"key":"YS8x","value":"b25l"}"#)
        #expect(
            text(EtcdPut(key: [0, 0xFF], value: [], lease: 77).body) == #"{"key":"AP8=","value":"","lease":"77"}"#)
    }

    @Test("range") func range() {
        #expect(text(EtcdRange(.key(bytes("a/1"))).body) == #"{"key":"YS8x"}"#)
        #expect(
            text(
                EtcdRange(.prefix(bytes("a/")), limit: 2, isDescending: true, keysOnly: true, isSerializable: true).body
            )
                == #"{"key":"YS8=","range_end":"YTA=","limit":"2","sort_order":"DESCEND","sort_target":"KEY","#
                + #""keys_only":true,"serializable":true}"#)
    }

    @Test("a transaction that claims a key, and one that appends below it") func transactions() {
        let claim = EtcdTransaction(
            if: [.init(bytes("h/owner"), .equal, .createRevision(0))],
            then: [.put(key: bytes("h/owner"), value: bytes("n1"), lease: 7_627_868_533_486_616_853)],
            else: [.range(EtcdRange(.key(bytes("h/owner"))))], isRepeatable: true)
        #expect(
            text(claim.body)
                == #"{"compare":[{"key":"aC9vd25lcg==","result":"EQUAL","target":"CREATE","create_revision":"0"}],"#
                + #""success":[{"request_put":{"key":"aC9vd25lcg==","value":"bjE=","lease":"7627868533486616853"}}],"#
                + #""failure":[{"request_range":{"key":"aC9vd25lcg=="}}]}"#)
        let trim = EtcdTransaction(
            if: [
                .init(bytes("a"), .notEqual, .value(bytes("v"))), .init(bytes("a"), .greater, .modRevision(3)),
                .init(bytes("a"), .less, .lease(-1)),
            ],
            then: [.delete(.prefix(bytes("l/")))], isRepeatable: true)
        #expect(
            text(trim.body)
                == #"{"compare":[{"key":"YQ==","result":"NOT_EQUAL","target":"VALUE","value":"dg=="},"#
                + #"{"key":"YQ==","result":"GREATER","target":"MOD","mod_revision":"3"},"#
                + #"{"key":"YQ==","result":"LESS","target":"LEASE","lease":"-1"}],"#
                + #""success":[{"request_delete_range":{"key":"bC8=","range_end":"bDA="}}]}"#)
    }

    @Test("leases, compaction, status and members") func others() {
        #expect(text(EtcdGrantLease(77, seconds: 3).body) == #"{"ID":"77","TTL":"3"}"#)
        #expect(text(EtcdKeepLeaseAlive(77).body) == #"{"ID":"77"}"#)
        #expect(text(EtcdRevokeLease(77).body) == #"{"ID":"77"}"#)
        #expect(text(EtcdCompact(16).body) == #"{"revision":"16"}"#)
        #expect(text(EtcdStatus().body) == "{}")
        #expect(text(EtcdMemberList().body) == "{}")
    }

    @Test("a watch asks for progress and fragments") func watch() {
        #expect(
            text(EtcdWatch(.prefix(bytes("w/")), from: 14).body)
                == #"{"create_request":{"key":"dy8=","range_end":"dzA=","start_revision":"14","#
                + #""progress_notify":true,"fragment":true}}"#)
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
