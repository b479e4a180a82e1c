/// A node that is to hold databases, whether it runs at the moment or not.
package struct ClusterMember: Hashable, Sendable {
    package var name: [UInt8]
    /// Machines that may fail together, such as a rack; empty if that is not known.
    package var zone: [UInt8]
    /// Its share of the databases, relative to others: 1 or more.
    package var weight: UInt8
    /// It is to hold no databases any more.
    package var isDraining: Bool

    package init(name: [UInt8], zone: [UInt8] = [], weight: UInt8 = 1, isDraining: Bool = false) {
        precondition(!name.isEmpty && name.count <= 255 && zone.count <= 255 && weight > 0)
        (self.name, self.zone, self.weight, self.isDraining) = (name, zone, weight, isDraining)
    }
}

/// The members of a cell, from which each node computes where databases are (``Placement``): the value of
/// `/hearth/1/members`, without a lease. It is replaced on condition that it is as it was read.
///
/// ```
/// members = version:1 member…
/// member  = size:1 name size:1 zone weight:1 draining:1
/// ```
/// Members are in ascending order of their names, so the same members have the same bytes.
package struct ClusterMembers: Hashable, Sendable {
    package private(set) var list: [ClusterMember]

    /// - precondition: no two members have the same name.
    package init(_ members: some Sequence<ClusterMember>) {
        list = members.sorted { $0.name.lexicographicallyPrecedes($1.name) }
        precondition(zip(list, list.dropFirst()).allSatisfy { $0.name != $1.name }, "two members of one name")
    }

    private static let version: UInt8 = 1

    package var bytes: [UInt8] {
        var fields = FieldWriter()
        fields.add(Self.version)
        for member in list {
            fields.add(UInt8(member.name.count))
            fields.add(member.name)
            fields.add(UInt8(member.zone.count))
            fields.add(member.zone)
            fields.add(member.weight)
            fields.add(UInt8(member.isDraining ? 1 : 0))
        }
        return fields.bytes
    }

    /// Nil if the bytes are not members of a version that is known.
    package init?(_ bytes: [UInt8]) {
        var fields = FieldReader(bytes)
        guard fields.read() == Self.version else { return nil }
        list = []
        while !fields.isAtEnd {
            guard let nameSize = fields.read(UInt8.self), nameSize > 0, let name = fields.read(count: Int(nameSize)),
                let zoneSize = fields.read(UInt8.self), let zone = fields.read(count: Int(zoneSize)),
                let weight = fields.read(UInt8.self), weight > 0,
                let draining = fields.read(UInt8.self), draining <= 1,
                list.last?.name.lexicographicallyPrecedes(name) ?? true
            else { return nil }
            list.append(ClusterMember(name: name, zone: zone, weight: weight, isDraining: draining == 1))
        }
    }
}
