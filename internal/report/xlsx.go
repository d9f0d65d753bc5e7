package report

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/xuri/excelize/v2"

	"laststand/internal/answers"
)

const (
	sheet      = "Answers"
	maxXLSRows = 1 << 20 // of a sheet, by the format
)

// ErrTooLarge means that a sheet cannot have a row for each player and question.
var ErrTooLarge = errors.New("report: too many rows for XLSX; use format=csv")

// WriteXLSX writes the answers of all players of a match as a sheet. Its memory does not
// grow with the number of players: the library keeps 16 MiB, and the rest in a temporary
// file. It can return ErrTooLarge.
func WriteXLSX(ctx context.Context, w io.Writer, source Source, m answers.Match) (err error) {
	if m.Summary.Players*len(m.Questions) >= maxXLSRows {
		return ErrTooLarge
	}
	file := excelize.NewFile()
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.SetSheetName("Sheet1", sheet); err != nil {
		return err
	}
	if err := writeSheet(ctx, file, source, m); err != nil {
		return err
	}
	file.SetZipWriter(func(io.Writer) excelize.ZipWriter { return zip.NewWriter(w) }) // the library's own one fills a buffer
	return file.Write(io.Discard)
}

func writeSheet(ctx context.Context, file *excelize.File, source Source, m answers.Match) error {
	stream, err := file.NewStreamWriter(sheet)
	if err != nil {
		return err
	}
	header := make([]any, len(columns))
	for i, column := range columns {
		header[i] = column
	}
	if err := stream.SetPanes(&excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"}); err != nil {
		return err
	}
	if err := stream.SetRow("A1", header); err != nil {
		return err
	}
	row := 1
	err = eachRow(ctx, source, m, func(cells []any) error {
		for i, cell := range cells {
			if given, isNumber := cell.(number); isNumber {
				cells[i], _ = strconv.ParseFloat(string(given), 64) // a JSON number
			}
		}
		row++
		return stream.SetRow("A"+strconv.Itoa(row), cells)
	})
	return errors.Join(err, stream.Flush())
}
