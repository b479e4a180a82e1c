import CHearthSQLite
import HearthServerFiles
import HearthSQLite
import HearthStorageErrors

extension Connection {
    /// Makes `row_checksum(value, …)` known to SQL: a number made of the types and bytes of its arguments, so that a
    /// row can carry a checksum of its columns.
    func addRowChecksum() throws(StorageError) {
        let code = sqlite3_create_function_v2(
            handle, "row_checksum", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil,
            { context, count, values in
                var mixer = ChecksumMixer()
                for index in 0..<Int(count) {
                    guard let value = values?[index] else { continue }
                    let type = sqlite3_value_type(value)
                    mixer.add(UInt64(type))
                    switch type {
                    case SQLITE_NULL: break
                    case SQLITE_INTEGER: mixer.add(UInt64(bitPattern: sqlite3_value_int64(value)))
                    case SQLITE_FLOAT: mixer.add(sqlite3_value_double(value).bitPattern)
                    default:
                        // The bytes are to be asked for before their number.
                        let start = sqlite3_value_blob(value)
                        mixer.add(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value))))
                    }
                }
                sqlite3_result_int64(context, Int64(bitPattern: mixer.sum))
            }, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code) }
    }
}
