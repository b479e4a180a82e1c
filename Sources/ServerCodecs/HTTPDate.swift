import HearthHTTPCodec

/// A moment as the `Date` header field writes it (IMF-fixdate, RFC 9110 5.6.7). Make one per second and reuse it.
package struct HTTPDate: Sendable, Equatable {
    /// 29 bytes: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package let bytes: [UInt8]

    /// Years 0 to 9999, which the format can hold; moments outside are moved to its edge.
    package init(secondsSince1970: Int) {
        let seconds = min(max(secondsSince1970, -62_167_219_200), 253_402_300_799)
        let day = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let secondOfDay = seconds - day * 86_400
        let date = Self.civilDate(daysSince1970: day)
        var text: [UInt8] = []
        text.reserveCapacity(29)
        // 1970-01-01 was a Thursday.
        text.appendName(at: ((day % 7) + 11) % 7, of: "SunMonTueWedThuFriSat")
        text.append(literal: ", ")
        text.append(decimal: date.day, digits: 2)
        text.append(literal: " ")
        text.appendName(at: date.month - 1, of: "JanFebMarAprMayJunJulAugSepOctNovDec")
        text.append(literal: " ")
        text.append(decimal: date.year, digits: 4)
        text.append(literal: " ")
        text.append(decimal: secondOfDay / 3_600, digits: 2)
        text.append(literal: ":")
        text.append(decimal: secondOfDay / 60 % 60, digits: 2)
        text.append(literal: ":")
        text.append(decimal: secondOfDay % 60, digits: 2)
        text.append(literal: " GMT")
        bytes = text
    }

    /// Proleptic Gregorian date. Counts from 1 March of year 0, so that the leap day is the last day of a year.
    private static func civilDate(daysSince1970: Int) -> (year: Int, month: Int, day: Int) {
        let daysPerEra = 146_097  // 400 years
        let days = daysSince1970 + 719_468 + daysPerEra  // one era more: never negative for the years we hold
        let dayOfEra = days % daysPerEra
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + (days / daysPerEra - 1) * 400 + (month <= 2 ? 1 : 0)
        return (year, month, day)
    }
}

extension [UInt8] {
    /// The three letters at `index` of names written one after another.
    fileprivate mutating func appendName(at index: Int, of names: StaticString) {
        names.withUTF8Buffer { append(contentsOf: $0[(3 * index)..<(3 * index + 3)]) }
    }
}
