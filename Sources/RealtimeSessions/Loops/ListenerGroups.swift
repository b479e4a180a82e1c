import HearthRealtimeDatabase

/// The groups of one ``ConnectionTable``.
struct ListenerGroups<Member: TableMember> {
    private var groups: [UInt64: ListenerGroup<Member>] = [:]

    /// Calls `body` with each member.
    func forEachMember(of id: GroupID, _ body: (Member) -> Void) { groups[id.raw]?.forEach(body) }

    func memberCount(of id: GroupID) -> Int { groups[id.raw]?.count ?? 0 }

    mutating func join(_ id: GroupID, _ member: Member) {
        guard member.groups.insert(id.raw).inserted else { return }
        let group = groups[id.raw] ?? ListenerGroup()
        group.add(member)
        groups[id.raw] = group
    }

    mutating func leave(_ id: UInt64, _ member: Member) {
        member.groups.remove(id)
        guard let group = groups[id] else { return }
        group.remove(member)
        if group.isEmpty { groups[id] = nil }
    }

    mutating func leaveAll(_ member: Member) {
        for id in member.groups { leave(id, member) }
    }
}

/// The members of a group on one loop.
private final class ListenerGroup<Member: TableMember> {
    private var members: [Member] = []
    private var places: [ObjectIdentifier: Int] = [:]

    var isEmpty: Bool { members.isEmpty }
    var count: Int { members.count }

    func add(_ member: Member) {
        places[ObjectIdentifier(member)] = members.count
        members.append(member)
    }

    func remove(_ member: Member) {
        guard let place = places.removeValue(forKey: ObjectIdentifier(member)) else { return }
        let last = members.removeLast()
        if last !== member {
            members[place] = last
            places[ObjectIdentifier(last)] = place
        }
    }

    func forEach(_ body: (Member) -> Void) {
        for member in members { body(member) }
    }
}
