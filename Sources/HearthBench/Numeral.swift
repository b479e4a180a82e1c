/// Numbers as people read them.
package enum Numeral {
    /// With a comma between thousands.
    package static func grouped(_ value: Int) -> String {
        let digits = String(value.magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
            text.append(digit)
        }
        return value < 0 ? "-" + text : text
    }

    /// With a fixed number of digits after the point, the last one rounded.
    package static func fixed(_ value: Double, _ digits: Int) -> String {
        guard value.isFinite, value.magnitude < 1e15 else { return "\(value)" }
        var scale = 1
        for _ in 0..<digits { scale *= 10 }
        let scaled = Int((value.magnitude * Double(scale)).rounded())
        let sign = value < 0 && scaled > 0 ? "-" : ""
        if digits == 0 { return sign + grouped(scaled) }
        let fraction = String(scaled % scale)
        let zeros = String(repeating: "0", count: digits - fraction.count)
        return "\(sign)\(grouped(scaled / scale)).\(zeros)\(fraction)"
    }

    /// A time, in the unit that suits it.
    package static func duration(nanoseconds: Int64) -> String {
        let value = Double(nanoseconds)
        return switch value {
        case ..<1e3: "\(nanoseconds) ns"
        case ..<1e6: scaled(value / 1e3) + " µs"
        case ..<1e9: scaled(value / 1e6) + " ms"
        default: scaled(value / 1e9) + " s"
        }
    }

    /// Three significant digits.
    private static func scaled(_ value: Double) -> String {
        fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0)
    }

    /// A part of the whole.
    package static func percent(_ share: Double) -> String { fixed(share * 100, 0) + " %" }

    package static func mebibytes(_ kibibytes: Int) -> String { fixed(Double(kibibytes) / 1024, 1) + " MiB" }
}
