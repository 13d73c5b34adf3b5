package demo

import (
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/wherryhq/wherry/cmd/wherry/internal/interrupt"
)

// refresh is how often the live view looks.
const refresh = 200 * time.Millisecond

// live is the model of the live view.
type live struct {
	camera   *camera
	screen   screen
	shot     snapshot
	requests *interrupt.Requests
}

type tick struct{}

func next() tea.Cmd { return tea.Tick(refresh, func(time.Time) tea.Msg { return tick{} }) }

// Init takes the first snapshot.
func (l *live) Init() tea.Cmd {
	l.shot = l.camera.take()
	return next()
}

// Update follows the clock, the keyboard and the size of the window.
func (l *live) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tick:
		l.shot = l.camera.take()
		return l, next()
	case tea.WindowSizeMsg:
		l.screen.width, l.screen.height = m.Width, m.Height
	case tea.KeyPressMsg:
		if s := m.String(); s == "ctrl+c" || s == "q" {
			l.requests.Interrupt()
		}
	}
	return l, nil
}

// View draws the last snapshot, on a screen of its own that is gone afterwards.
func (l *live) View() tea.View {
	v := tea.NewView(l.screen.draw(&l.shot))
	v.AltScreen = true
	return v
}

// showLive shows the service until done is closed or the user quits. The terminal is then as it was before.
func showLive(c *camera, in *interrupt.Requests, done <-chan struct{}, out io.Writer, opts ...tea.ProgramOption) error {
	model := &live{camera: c, screen: screen{styles: newStyles(), width: 80, height: 24}, requests: in}
	p := tea.NewProgram(model, append([]tea.ProgramOption{tea.WithOutput(out), tea.WithoutSignalHandler()}, opts...)...)
	ended := make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-done:
		case <-in.Quitting():
		case <-ended:
		}
		p.Quit()
	}()
	_, err := p.Run()
	close(ended)
	<-gone
	return err
}
