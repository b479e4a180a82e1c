import HearthClusterNode
import HearthEtcdGateway
import Testing

@Suite("A list of etcd clusters") struct EtcdStoreTests {
    @Test("begins with home, and names all others")
    func list() throws {
        let stores = try EtcdStore.list("etcd://a,b:4001  blue=etcd://c\nred-2=etcd://[::1],d")
        #expect(
            stores == [
                EtcdStore("home", [EtcdMember(host: "a"), EtcdMember(host: "b", port: 4001)]),
                EtcdStore("blue", [EtcdMember(host: "c")]),
                EtcdStore("red-2", [EtcdMember(host: "::1"), EtcdMember(host: "d")]),
            ])
        #expect(stores.text == "etcd://a:2379,b:4001 blue=etcd://c:2379 red-2=etcd://[::1]:2379,d:2379")
        #expect(try EtcdStore.list(stores.text) == stores)
    }

    @Test(
        "that cannot be used is refused",
        arguments: [
            ("", "no member of etcd is named"), ("blue=etcd://a", "does not begin with etcd://"),
            ("etcd://a etcd://b", "is not NAME=etcd://HOST,HOST"), ("etcd://a b=", "does not begin with etcd://"),
            ("etcd://a =etcd://b", "is not NAME=etcd://HOST,HOST"), ("etcd://a b!=etcd://b", "is not NAME="),
            ("etcd://a home=etcd://b", "the name home is taken"),
            ("etcd://a b=etcd://b b=etcd://c", "the name b is taken"),
            ("etcd://a b=etcd://c,a", "a:2379 is named in two etcd clusters"), ("etcd://a b=etcd://b:x", "the port"),
        ])
    func refused(text: String, part: String) {
        #expect { try EtcdStore.list(text) } throws: { "\($0)".contains(part) }
    }
}
