/// A number of bytes for people: 512 B, 1.5 kB, 20.1 MB.
package struct ByteText: CustomStringConvertible {
    let bytes: Int

    package init(_ bytes: Int) { self.bytes = bytes }

    package var description: String {
        var value = Double(bytes)
        for unit in ["B", "kB", "MB", "GB"] {
            if value < 1000 { return text(value, unit) }
            value /= 1000
        }
        return text(value, "TB")
    }

    private func text(_ value: Double, _ unit: String) -> String {
        if unit == "B" { return "\(bytes) B" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}
