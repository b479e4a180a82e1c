package import HearthSQLite

extension Statement {
    package func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    package func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }
}
