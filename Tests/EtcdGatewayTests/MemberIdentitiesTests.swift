import HearthEtcdGateway
import Testing

@Suite("The etcd cluster of members") struct MemberIdentitiesTests {
    private static let members = ["a", "b", "c"].map { EtcdMember(host: $0) }

    private static func state(_ looks: [UInt64?]...) -> MemberIdentities.State {
        var identities = MemberIdentities()
        for look in looks { identities.look(zip(members, look).map { ($0, $1) }) }
        return identities.state
    }

    private static let mixed = "the members are not of one etcd cluster: a:2379, c:2379 of 10; b:2379 of 2f"

    @Test("is known once one answers, and none contradicts it") func agreement() {
        #expect(Self.state([nil, nil, nil]) == .unknown)
        #expect(Self.state([nil, 16, nil]) == .agreed(16))
        #expect(Self.state([16, 16, 16], [nil, nil, nil]) == .agreed(16))
    }

    @Test("members of another one are named") func contradiction() {
        #expect(Self.state([16, 47, 16]) == .mixed(Self.mixed))
        #expect(Self.state([16, nil, 16], [16, 47, 16]) == .mixed(Self.mixed))
    }

    @Test("after a contradiction, only all members together are believed") func afterwards() {
        // The one that answers may be the wrong one.
        #expect(Self.state([16, 47, 16], [nil, 47, nil]) == .mixed(Self.mixed))
        #expect(Self.state([16, 47, 16], [16, 16, 16]) == .agreed(16))
        #expect(Self.state([16, 47, 16], [47, 47, 47]) == .agreed(47))
    }

    @Test("a node that knew the cluster before believes most of the members, if they are of it") func knownBefore() {
        let contradiction: [UInt64?] = [16, 47, 16]
        #expect(Self.state([16, 16, 16], contradiction, [16, nil, 16]) == .agreed(16))
        #expect(Self.state([16, 16, 16], contradiction, [nil, nil, 16]) == .mixed(Self.mixed))
        #expect(Self.state([16, 16, 16], contradiction, [nil, 47, nil]) == .mixed(Self.mixed))
        #expect(Self.state(contradiction, [16, nil, 16]) == .mixed(Self.mixed))
    }

    @Test("one that was made anew is another one") func anew() {
        guard case .mixed(let text) = Self.state([16, 16, 16], [nil, 47, 47]) else {
            Issue.record("is believed")
            return
        }
        #expect(text.hasPrefix("the members are of the etcd cluster 2f, and were of 10 when this node started"))
        #expect(Self.state([16, 16, 16], [nil, 47, 47], [16, 16, 16]) == .agreed(16))
    }
}
