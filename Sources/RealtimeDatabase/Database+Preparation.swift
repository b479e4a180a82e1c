extension Database {
    package func preparation(_ step: RowPreparation.Step, now: Int64) -> RowPreparation {
        var preparation = preparation
        (preparation.step, preparation.now) = (step, now)
        return preparation
    }

    package var preparation: RowPreparation {
        RowPreparation(
            bytesMin: largeBytesMin, rowsAtOnceMax: rowsAtOnceMax, packing: rows.packing,
            indexes: indexes.catalog.indexes)
    }
}
