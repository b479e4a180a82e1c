package import HearthJSONTree

/// When a subtree is one row.
package struct RowPacking: Sendable {
    /// Above this many bytes of canonical text a node is spread over its children.
    let packedBytesMax: Int
    /// A spread node whose whole subtree has shrunk to this is packed into one row again.
    package let repackBytesMax: Int

    package init(packedBytesMax: Int = 2048, repackBytesMax: Int = 512) {
        self.packedBytesMax = packedBytesMax
        self.repackBytesMax = repackBytesMax
    }

    package func fits(_ value: CanonicalJSON) -> Bool { value.bytes.count <= packedBytesMax || value.isLeaf }
}
