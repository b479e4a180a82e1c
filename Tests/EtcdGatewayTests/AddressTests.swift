import HearthEtcdGateway
import Testing

@Suite("Addresses of etcd") struct AddressTests {
    @Test("are names and addresses, with or without a port") func members() throws {
        let members = try EtcdMember.list("etcd://a.example,10.0.0.1:4001,[::1],[fe80::2]:99")
        #expect(
            members == [
                EtcdMember(host: "a.example"), EtcdMember(host: "10.0.0.1", port: 4001), EtcdMember(host: "::1"),
                EtcdMember(host: "fe80::2", port: 99),
            ])
        #expect(members.map(\.description) == ["a.example:2379", "10.0.0.1:4001", "[::1]:2379", "[fe80::2]:99"])
    }

    @Test(
        "that are wrong are named",
        arguments: [
            ("a,b", "does not begin with etcd://"), ("http://a", "does not begin with etcd://"),
            ("etcd://", "'' is not HOST"), ("etcd://a,", "'' is not HOST"), ("etcd://a,,b", "'' is not HOST"),
            ("etcd://a,a", "a:2379 is named twice"), ("etcd://a:0", "a:0: the port"), ("etcd://a:65536", "the port"),
            ("etcd://a:", "a:: the port"), ("etcd://a:+1", "the port"), ("etcd://::1", "in brackets"),
            ("etcd://[::1", "not closed"), ("etcd://[::1]x", "not closed"), ("etcd://a/b", "'a/b' is not HOST"),
            ("etcd://u@h", "is not HOST"), ("etcd://a b", "is not HOST"),
        ])
    func errors(text: String, part: String) {
        #expect { try EtcdMember.list(text) } throws: { "\($0)".contains(part) }
    }
}
