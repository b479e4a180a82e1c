import HearthExampleKit
import HearthExampleTerminal
import HearthClient

/// A map in characters: north is up, distances are the same in both directions, and everything is on it.
struct PlaceMap {
    /// Something at coordinates.
    struct Mark {
        var latitude: Double
        var longitude: Double
        /// One column wide.
        var symbol: Character
        /// Next to the symbol, if there is room.
        var label: String
        var styles: [Style]
    }

    private struct Cell {
        var row: Int
        var column: Int
    }

    private let size: Size
    private var characters: [[Character]]
    private var styles: [[[Style]]]

    /// A map that fills a size.
    init(_ marks: [Mark], size: Size) {
        self.size = size
        characters = Array(repeating: Array(repeating: " ", count: size.columns), count: size.rows)
        styles = Array(repeating: Array(repeating: [], count: size.columns), count: size.rows)
        guard size.columns > 0, size.rows > 0 else { return }
        // All symbols first: labels are where these leave room.
        let cells = zip(marks, cells(of: marks)).map { mark, wanted in
            let cell = free(near: wanted)
            if let cell { set(String(mark.symbol), at: cell, mark.styles) }
            return cell
        }
        for (mark, cell) in zip(marks, cells) { if let cell { write(mark.label, beside: cell, mark.styles) } }
    }

    /// From the top.
    var lines: [Line] {
        zip(characters, styles).map { characters, styles in
            var line = Line("")
            var start = 0
            for end in styles.indices where end + 1 == styles.count || styles[end + 1] != styles[start] {
                line = line + Line(String(characters[start...end]), styles[start])
                start = end + 1
            }
            return line
        }
    }

    /// Where marks are, if nothing else is there.
    private func cells(of marks: [Mark]) -> [Cell] {
        let latitudes = marks.map(\.latitude)
        guard let south = latitudes.min(), let north = latitudes.max() else { return [] }
        // Meridians come closer towards the poles; near the equator of the map this is enough.
        let shrinking = Self.cosine(degrees: (south + north) / 2)
        let eastings = marks.map { $0.longitude * shrinking }
        guard let west = eastings.min(), let east = eastings.max() else { return [] }
        let columns = Double(size.columns - 1)
        let rows = Double(size.rows - 1)
        // A character is about twice as high as wide.
        let perColumn = max((east - west) / max(columns, 1), (north - south) / max(2 * rows, 1), 1e-9)
        let left = ((columns - (east - west) / perColumn) / 2).rounded(.down)
        let top = ((rows - (north - south) / perColumn / 2) / 2).rounded(.down)
        return zip(eastings, latitudes).map { easting, latitude in
            Cell(
                row: Self.index(top + (north - latitude) / perColumn / 2, below: size.rows),
                column: Self.index(left + (easting - west) / perColumn, below: size.columns))
        }
    }

    /// For coordinates that make no sense, too.
    private static func index(_ position: Double, below count: Int) -> Int {
        position.isFinite ? Int(min(max(position.rounded(), 0), Double(count - 1))) : 0
    }

    /// To four digits, which is finer than characters are.
    private static func cosine(degrees: Double) -> Double {
        let x = degrees * .pi / 180
        let square = x * x
        return 1 - square / 2 * (1 - square / 12 * (1 - square / 30 * (1 - square / 56)))
    }

    /// The nearest cell without a symbol; nil if there is none.
    private func free(near cell: Cell) -> Cell? {
        var nearest: (cell: Cell, distance: Int)?
        for row in 0..<size.rows {
            for column in 0..<size.columns where characters[row][column] == " " {
                let (down, right) = (2 * (row - cell.row), column - cell.column)
                let distance = down * down + right * right
                if distance < nearest?.distance ?? .max { nearest = (Cell(row: row, column: column), distance) }
            }
        }
        return nearest?.cell
    }

    /// Writes a label on the first side of a symbol where it fits.
    private mutating func write(_ label: String, beside cell: Cell, _ style: [Style]) {
        let text = String(label.map { Line(String($0)).width == 1 ? $0 : "?" })
        let middle = cell.column - text.count / 2
        let sides = [
            Cell(row: cell.row, column: cell.column + 2), Cell(row: cell.row, column: cell.column - 1 - text.count),
            Cell(row: cell.row + 1, column: middle), Cell(row: cell.row - 1, column: middle),
        ]
        if let side = sides.first(where: { isFree($0, text.count) }) { set(text, at: side, style) }
    }

    /// Whether this many cells are empty, and no adjacent text would run into it.
    private func isFree(_ cell: Cell, _ count: Int) -> Bool {
        guard characters.indices.contains(cell.row), cell.column >= 0, cell.column + count <= size.columns else {
            return false
        }
        let row = characters[cell.row]
        let end = min(cell.column + count + 1, size.columns)
        // The symbol itself is one column away from the text.
        return row[max(cell.column - 1, 0)..<end].allSatisfy { $0 == " " }
    }

    private mutating func set(_ text: String, at cell: Cell, _ style: [Style]) {
        for (index, character) in text.enumerated() {
            characters[cell.row][cell.column + index] = character
            styles[cell.row][cell.column + index] = style
        }
    }
}

extension PlaceMap {
    /// A map of places.
    ///
    /// - parameter own: the key of the place where the user is.
    /// - parameter friend: the key of the place where the friend is.
    /// - parameter chosen: the key of the place that is shown in reverse.
    init(_ places: [DatabaseChild<Place>], own: String?, friend: String?, chosen: String? = nil, size: Size) {
        let marks = places.map { place in
            let isOwn = place.id == own
            let isFriend = place.id == friend
            let symbol: Character = isFriend ? "★" : isOwn ? "◆" : place.isFull ? "○" : "●"
            let look: [Style] = isFriend ? [.bold, .well] : isOwn ? [.bold] : place.isFull ? [.wrong] : []
            let styles = look + (place.id == chosen ? [.reversed] : [])
            let label = "\(place.name) \(place.seats.available)/\(place.seats.total)" + (isOwn && isFriend ? " ◆" : "")
            return Mark(
                latitude: place.latitude, longitude: place.longitude, symbol: symbol, label: label, styles: styles)
        }
        self.init(marks, size: size)
    }

    /// What the symbols mean.
    static let legend: Line =
        Line("● seats free") + Line("  ○ full", .wrong) + Line("  ◆ you", .bold)
        + Line("  ★ your friend", .bold, .well)
}
