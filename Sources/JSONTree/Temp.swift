package enum NodeHash {
    package static func hash(_ v: CanonicalJSON) -> [UInt8] { v.isNull ? [] : v.bytes }
    package static func matches(_ h: [UInt8], _ v: CanonicalJSON) -> Bool { hash(v) == h }
}
extension CanonicalJSON { package func resolved(timestamp: Int64, old: (Path) -> CanonicalJSON) -> CanonicalJSON { self } }
